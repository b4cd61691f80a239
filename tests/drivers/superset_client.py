"""What the tests of Superset share: the application in this process, with its administrator logged in."""

import logging

from superset.app import create_app

from clients import Client

ADMIN = {"username": "admin", "password": "admin", "provider": "db", "refresh": False}


class Superset(Client):
    @classmethod
    def setUpClass(cls):
        logging.disable()  # what is refused comes back in replies as well
        cls.app = create_app()
        cls.client = cls.app.test_client()
        token = cls.request("post", "security/login", json=ADMIN)["access_token"]
        cls.client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"
        # Superset shows samples to its own pages alone, which have a session; a browser has one, too.
        cls.client.post("/login/", data={"username": "admin", "password": "admin"})

    @classmethod
    def request(cls, method, path, status=200, **body):
        reply = getattr(cls.client, method)(f"/api/v1/{path}", **body)
        if reply.status_code != status:
            raise AssertionError(f"{method} {path}: {reply.status_code} {reply.get_data(as_text=True)[:2000]}")
        return reply.get_json()

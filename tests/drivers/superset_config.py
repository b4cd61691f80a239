"""Superset for scripts/test-superset: its own data in a folder that goes when the test ends, and no browser to guard."""

import os

SECRET_KEY = "a throw-away server keeps nothing secret"
SQLALCHEMY_DATABASE_URI = f"sqlite:///{os.environ['SUPERSET_HOME']}/superset.db"
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
RATELIMIT_ENABLED = False
FAB_ADD_SECURITY_API = True
# Each request asks the database, as nothing is kept.
CACHE_CONFIG = DATA_CACHE_CONFIG = {"CACHE_TYPE": "NullCache"}

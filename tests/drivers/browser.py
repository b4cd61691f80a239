"""A browser without a window, for dashboards of Superset: Chromium by its driver, both of the distribution."""

import io
import shutil

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

WIDTH = 1360
# The charts of the page: those that are still waited for, and those that have drawn neither bars nor rows of a table.
CHARTS = """
    const charts = [...document.querySelectorAll('.dashboard-component-chart-holder')];
"""
WAITING = CHARTS + "return charts.filter(chart => chart.querySelector('.loading, [data-test=\"loading-indicator\"]')).length"
NUMBER = CHARTS + "return charts.length"
EMPTY = CHARTS + "return charts.filter(chart => !chart.querySelector('canvas, tbody tr')).map(chart => chart.innerText)"
BOTTOM = CHARTS + "return Math.ceil(Math.max(...charts.map(chart => chart.getBoundingClientRect().bottom)))"


class Browser:
    def __init__(self, address, session):
        """With the cookie of a session that is logged in."""
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        # Superset is ours, and in a container there is neither a sandbox nor room in /dev/shm. The pages ask nobody else.
        for option in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                       "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"):
            options.add_argument(option)
        self.address = address
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_window_size(WIDTH, 2000)
        self.driver.get(f"{address}/health")
        self.driver.add_cookie({"name": "session", "value": session})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def open(self, path, number):
        """A dashboard, until none of its charts is waited for."""
        self.driver.get(self.address + path)
        run = self.driver.execute_script
        WebDriverWait(self.driver, 120).until(lambda _: run(NUMBER) == number and run(WAITING) == 0)

    def empty(self):
        """The texts of charts without data, which may be errors."""
        return self.driver.execute_script(EMPTY)

    def texts(self):
        return self.driver.find_element(By.TAG_NAME, "body").text

    def picture(self, file):
        """The page down to its last chart, in few colours, so that the file is small."""
        size = {"width": WIDTH, "height": self.driver.execute_script(BOTTOM) + 16, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        picture = Image.open(io.BytesIO(self.driver.get_screenshot_as_png()))
        picture.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(file, optimize=True)

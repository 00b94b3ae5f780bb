"""Written videos in a browser: they play."""

import base64
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from wherein.video.video_writer import CODECS, write_video

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("cv2", reason="OpenCV is not installed: pip install 'wherein[video]'")

SIZE, RATE, FRAMES = (160, 120), 25.0, 20
KINDS = {".webm": "video/webm", ".mp4": "video/mp4"}

PLAY = """async (source) => {
  const video = document.querySelector("video");
  video.src = source;
  video.muted = true;
  const ended = new Promise((done, failed) => {
    video.onended = done;
    video.onerror = () => failed(new Error(video.error.message));
  });
  await video.play();
  await ended;
  const canvas = document.querySelector("canvas");
  const context = canvas.getContext("2d");
  context.drawImage(video, 0, 0);
  const pixel = [...context.getImageData(80, 60, 1, 1).data].slice(0, 3);
  return { width: video.videoWidth, height: video.videoHeight, time: video.currentTime, pixel };
}"""


@pytest.mark.parametrize("extension", CODECS)
def test_a_written_video_plays(browser: "Browser", tmp_path: Path, extension: str) -> None:
    """It has its size, plays to its end, and shows the last frame there."""
    path = tmp_path / f"film{extension}"
    with write_video(path, SIZE, RATE) as add:
        for k in range(FRAMES):
            add(partial(Image.new, "RGB", SIZE, (200, 10 * k, 40)))
    page = browser.new_page()
    page.set_content(f"<video></video><canvas width={SIZE[0]} height={SIZE[1]}></canvas>")
    source = f"data:{KINDS[extension]};base64,{base64.b64encode(path.read_bytes()).decode()}"
    played = page.evaluate(PLAY, source)
    page.close()
    assert (played["width"], played["height"]) == SIZE
    assert played["time"] == pytest.approx(FRAMES / RATE, abs=1.5 / RATE)
    assert played["pixel"] == pytest.approx([200, 10 * (FRAMES - 1), 40], abs=15)

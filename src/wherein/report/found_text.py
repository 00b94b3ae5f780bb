"""The sentence about what a run found, the same in the report and in the summary of `wherein detect`."""


def found_text(found: int, scenes: int, with_detections: int, in_videos: int = 0, frames: int = 0) -> str:
    """What was found.

    Arguments:
        found: the number of detections, of all frames of videos.
        scenes: the number of scenes, including those that could not be searched.
        with_detections: the number of scenes with detections.
        in_videos: the detections in videos (one object in ten frames is ten).
        frames: the frames of videos with detections.

    Example:
        >>> found_text(0, 3, 0), found_text(5, 3, 2, in_videos=4, frames=4)
        ('Nothing found in 3 scenes', '5 found in 2 of 3 scenes, 4 of them in 4 frames of video')
    """
    all_scenes = _counted(scenes, "scene")
    text = (
        f"{found} found in {with_detections} of {all_scenes}" if found else f"Nothing found in {all_scenes}"
    )
    if not in_videos:
        return text
    share = "" if in_videos == found else f"{in_videos} of them "
    return f"{text}, {share}in {_counted(frames, 'frame')} of video"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun if count == 1 else noun + 's'}"

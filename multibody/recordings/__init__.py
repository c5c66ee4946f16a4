"""Recordings: what ports give as messages of ROS 2 or Foxglove in MCAP files, and topics of files as output ports."""

from merganser.multibody.recordings.recordings import McapLogger, McapSource, ReadTopic, RosbagSource, Topic

__all__ = ["McapLogger", "McapSource", "ReadTopic", "RosbagSource", "Topic"]

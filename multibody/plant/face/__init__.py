"""The functions of MultibodyPlant, by topic, each a line that calls the part of the plant which computes."""

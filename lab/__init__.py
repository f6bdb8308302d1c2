"""A fleet of real virtual machines on this machine, for scenarios, faults, benches and the demo; see README.md."""

"""The load side of the lab: fill a node's memcached, load it through an update, compare every key afterwards."""

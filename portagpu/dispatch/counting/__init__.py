"""Launches that count: work, traffic and touched bytes, exactly."""

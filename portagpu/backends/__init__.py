"""Back ends: what turns neutral IR into a device's programs, and reaches its memory and queues."""

"""What a device lacks: warps, barriers of the grid, copies that go on by themselves, half arithmetic."""

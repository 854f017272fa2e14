"""The warp-group variants: Hopper's wgmma with bulk copies."""

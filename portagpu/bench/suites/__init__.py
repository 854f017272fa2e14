"""Families of workloads."""

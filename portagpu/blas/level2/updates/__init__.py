"""Outer products of vectors that are added to a matrix, or to a triangle of one."""

"""Trace and facts -> what a reader sees: tables, JSON, CSV, DOT, images. Imports nothing heavy by itself."""

"""The store of trials and winners on disk."""

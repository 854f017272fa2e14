"""Reports of benchmark files: merged, viewed, compared, drawn; as tables, plots and a page."""

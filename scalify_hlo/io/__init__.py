"""Programs in and out: files, their formats, diagnostics, and the process that reads them."""

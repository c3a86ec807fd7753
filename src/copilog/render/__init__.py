"""Templates, styles, charts and the report: what pages are made of. `writers` draw conversations."""

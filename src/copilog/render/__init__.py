"""Templates, styles, charts and the report: the parts that pages share. `writers` draw conversations."""

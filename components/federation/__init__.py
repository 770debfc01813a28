"""Federation: sites that train together without sharing rows."""

"""Parts of the HTML report; everything foreign is escaped by construction."""

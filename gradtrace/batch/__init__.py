"""One program over the rows of a table: readers and writers of tables, and the loop that maps a plan over them."""

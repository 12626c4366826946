"""What the book's pages and the coursework need."""

"""What people write and read: files, sizes and times, options, tables, progress."""

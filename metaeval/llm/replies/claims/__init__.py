"""What a reply says of each field: claims in JSON, in lines, in sentences."""

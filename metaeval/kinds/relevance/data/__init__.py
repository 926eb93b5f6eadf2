"""Test collections: what users were interested in, what systems recommended, what is known of both."""

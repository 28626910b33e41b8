"""Device drivers: each module has `create_device(index)`."""

"""Matrix products of known size: `build.build_matmul` makes a kernel of a `shape.MatmulShape`."""

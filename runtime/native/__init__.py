"""Native code of the runtime: intrinsics, the reference object model, and the image that holds it all."""

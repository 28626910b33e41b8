"""resolve-ranked-shaped-type-result-dims: dims of computed tensors follow from what they are computed from."""

PASS = "resolve-ranked-shaped-type-result-dims"


def test_dims_of_what_was_computed(run_passes, in_order):
    text = run_passes(
        """
        util.func private @f(%a: tensor<?x4xf32>, %n: index) -> (index, index) {
          %c0 = arith.constant 0 : index
          %e = tensor.empty(%n) : tensor<?x4xf32>
          %z = arith.constant 0.0 : f32
          %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
          %c = tensor.concat dim(0) %a, %f : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
          %0 = tensor.dim %f, %c0 : tensor<?x4xf32>
          %1 = tensor.dim %c, %c0 : tensor<?x4xf32>
          util.return %0, %1 : index, index
        }
        """,
        PASS,
    )
    in_order(text, "tensor.dim %arg0", "arith.addi %dim, %arg1", "util.return %arg1, %")


LOOP = """
    util.func private @f(%a: tensor<?xf32>, %k: index) -> index {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%x = %a) -> (tensor<?xf32>) {
        BODY
        scf.yield %y : tensor<?xf32>
      }
      %d = tensor.dim %r, %c0 : tensor<?xf32>
      util.return %d : index
    }
    """


def test_a_loop_carries_the_dim_that_changes(run_passes, in_order):
    joined = "%y = tensor.concat dim(0) %x, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>"
    text = run_passes(LOOP.replace("BODY", joined), PASS, "canonicalize", "cse")
    in_order(
        text,
        "%dim = tensor.dim %arg0",
        "scf.for %arg2 = %c0 to %arg1",
        "iter_args(%arg3 = %dim) -> (index)",  # nobody reads the tensor itself
        "%1 = arith.addi %arg3, %arg3",
        "scf.yield %1",
        "util.return %0 : index",
    )


def test_a_dim_that_stays_is_that_of_the_start(run_passes):
    same = "%y = math.sin %x : tensor<?xf32>"
    text = run_passes(LOOP.replace("BODY", same), PASS, "canonicalize", "cse")
    assert "scf.for" not in text
    assert "util.return %dim" in text


def test_dims_behind_a_loop_with_a_condition(run_passes, in_order):
    text = run_passes(
        """
        util.func private @f(%a: tensor<?xf32>, %k: index) -> (tensor<?xf32>, index) {
          %c0 = arith.constant 0 : index
          %r = scf.while (%x = %a) : (tensor<?xf32>) -> (tensor<?xf32>) {
            %d = tensor.dim %x, %c0 : tensor<?xf32>
            %c = arith.cmpi ult, %d, %k : index
            scf.condition(%c) %x : tensor<?xf32>
          } do {
          ^bb0(%x: tensor<?xf32>):
            %y = tensor.concat dim(0) %x, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
            scf.yield %y : tensor<?xf32>
          }
          %d = tensor.dim %r, %c0 : tensor<?xf32>
          util.return %r, %d : tensor<?xf32>, index
        }
        """,
        PASS,
        "canonicalize",
        "cse",
    )
    in_order(
        text,
        "%dim = tensor.dim %arg0",
        "scf.while (%arg2 = %arg0, %arg3 = %dim)",
        "arith.cmpi ult, %arg3, %arg1",
        "scf.condition(%1) %arg2, %arg3",
        "^bb0(%arg2: tensor<?xf32>, %arg3: index)",
        "arith.addi %arg3, %arg3",
        "util.return %0#0, %0#1",
    )

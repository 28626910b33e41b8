stream.executable private @executable {
  stream.executable.export public @entry workgroups(%w: index) -> (index, index, index) {
    stream.return %w, %w, %w : index, index, index
  }
  stream.executable.export public @function as("renamed")
  builtin.module {
    func.func @entry(%in: !stream.binding, %d: index, %out: !stream.binding) {
      %c0 = arith.constant 0 : index
      %0 = stream.binding.subspan %in[%c0] : !stream.binding -> !iree_tensor_ext.dispatch.tensor<readonly:tensor<?xf32>>{%d}
      %1 = stream.dispatch.workgroup.id[0] : index
      %2 = stream.dispatch.workgroup.count[1] : index
      %3 = stream.dispatch.workgroup.size[2] : index
      return
    }
    func.func @function() {
      return
    }
  }
}

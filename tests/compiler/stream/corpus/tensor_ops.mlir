util.func private @imports(%view: !hal.buffer_view, %d: index, %size: index) -> !hal.buffer_view {
  %0 = stream.tensor.import on(#hal.device.affinity<@a>) consume %view : !hal.buffer_view -> tensor<?x4xf32>{%d} in !stream.resource<external>{%size}
  %1 = stream.tensor.export on(#hal.device.affinity<@a>) %0 : tensor<?x4xf32>{%d} in !stream.resource<external>{%size} -> !hal.buffer_view
  util.return %1 : !hal.buffer_view
}
util.func private @makes(%d: index, %v: f32) {
  %size = stream.tensor.sizeof on(#hal.device.affinity<@a>) tensor<?x4xf32>{%d} : index
  %0 = stream.tensor.empty on(#hal.device.affinity<@a>) : tensor<?x4xf32>{%d} in !stream.resource<*>{%size}
  %1 = stream.tensor.constant : tensor<2xi32> in !stream.resource<constant> = dense<[1, 2]> : tensor<2xi32>
  %2 = stream.tensor.splat %v : f32 -> tensor<?x4xf32>{%d} in !stream.resource<*>{%size}
  util.return
}
util.func private @moves(%0: !stream.resource<*>, %d: index, %size: index, %v: f32) -> !stream.resource<*> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %1 = stream.tensor.clone %0 : tensor<?x4xf32>{%d} in !stream.resource<*>{%size} -> tensor<?x4xf32>{%d} in !stream.resource<*>{%size}
  %2 = stream.tensor.slice %1[%c0, %c0 for %c1, %c4] : tensor<?x4xf32>{%d} in !stream.resource<*>{%size} -> tensor<1x4xf32> in !stream.resource<*>{%c16}
  %3 = stream.tensor.fill %v, %1[%c0, %c0 for %c1, %c4] : f32 -> tensor<?x4xf32>{%d} in %1 as !stream.resource<*>{%size}
  %4 = stream.tensor.update %2, %3[%c1, %c0] : tensor<1x4xf32> in !stream.resource<*>{%c16} -> tensor<?x4xf32>{%d} in %3 as !stream.resource<*>{%size}
  util.return %4 : !stream.resource<*>
}
util.func private @host(%0: !stream.resource<staging>, %d: index, %size: index) -> !stream.resource<staging> {
  %v = stream.tensor.load %0[%d] : tensor<?xi32>{%d} in !stream.resource<staging>{%size} -> i32
  %1 = stream.tensor.store %v, %0[%d] : i32 -> tensor<?xi32>{%d} in %0 as !stream.resource<staging>{%size}
  util.return %1 : !stream.resource<staging>
}
util.func private @dispatch(%0: !stream.resource<*>, %1: !stream.resource<*>, %d: index, %size: index, %i: i32) -> (!stream.resource<*>, !stream.resource<*>) {
  %2:2 = stream.tensor.dispatch on(#hal.device.affinity<@a>) @executable::@entry[%d](%0, %i, %1) : (tensor<?xf32>{%d} in !stream.resource<*>{%size}, i32, tensor<?xf32>{%d} in !stream.resource<*>{%size}) -> (tensor<?xf32>{%d} in %0{%size}, tensor<?xi32>{%d} in !stream.resource<*>{%size})
  util.return %2#0, %2#1 : !stream.resource<*>, !stream.resource<*>
}

util.func private @memory(%size: index, %t: !stream.timepoint, %data: !util.buffer, %file: !stream.file, %o: i64) {
  %0 = stream.resource.alloc uninitialized on(#hal.device.affinity<@a>) : !stream.resource<constant>{%size}
  %1, %t1 = stream.resource.alloca uninitialized on(#hal.device.affinity<@a>) await(%t) => !stream.resource<transient>{%size} => !stream.timepoint
  %2, %t2 = stream.resource.alloca uninitialized : !stream.resource<transient>{%size} => !stream.timepoint
  %t3 = stream.resource.dealloca origin on(#hal.device.affinity<@a>) await(%t1) => %1 : !stream.resource<transient>{%size} => !stream.timepoint
  stream.resource.retain %1 : !stream.resource<transient>{%size}
  %last = stream.resource.release %1 : !stream.resource<transient>{%size}
  %alone = stream.resource.is_terminal %1 : !stream.resource<transient>{%size}
  %s = stream.resource.size %1 : !stream.resource<transient>
  %ok, %3 = stream.resource.try_map %data[%size] : !util.buffer -> i1, !stream.resource<constant>{%size}
  %4 = stream.resource.subview %1[%size] : !stream.resource<transient>{%size} -> !stream.resource<transient>{%size}
  %5, %t4 = stream.resource.transients await(%t) => %1 : !stream.resource<transient>{%size} from %2 : !stream.resource<transient>{%size} => !stream.timepoint
  %6:2, %t5 = stream.resource.constants :
    !stream.resource<constant>{%size} = dense<1> : tensor<4xi32>,
    !stream.resource<constant>{%size} = dense<[2, 3]> : tensor<2xi32>
    => !stream.timepoint
  %7:3 = stream.resource.pack slices({
    [0, 2] = %size,
    [1, 3] = %size
  }) : index
  %8 = stream.file.constant %data[%size for %size] : !util.buffer{%size} -> !stream.file
  %t6 = stream.file.read await(%t) => %file[%o], %1[%size], %size : !stream.file -> !stream.resource<transient>{%size} => !stream.timepoint
  %t7 = stream.file.write : %1[%size], %file[%o], %size : !stream.resource<transient>{%size} -> !stream.file => !stream.timepoint
  util.return
}
util.func private @staging(%0: !stream.resource<staging>, %size: index) {
  %v = stream.resource.load %0[%size] : !stream.resource<staging>{%size} -> i32
  stream.resource.store %v, %0[%size] : i32 -> !stream.resource<staging>{%size}
  util.return
}
util.func private @time(%fence: !hal.fence, %0: !stream.resource<external>, %size: index) -> !hal.fence {
  %t0 = stream.timepoint.immediate => !stream.timepoint
  %t1 = stream.timepoint.import on(#hal.device.affinity<@a>) %fence : (!hal.fence) => !stream.timepoint
  %t2 = stream.timepoint.join max(%t0, %t1) => !stream.timepoint
  %1, %t3 = stream.timepoint.barrier %0 : !stream.resource<external>{%size} => !stream.timepoint
  %2 = stream.timepoint.await %t3 => %1 : !stream.resource<external>{%size}
  %3 = stream.timepoint.await sync %t3 => %2 : !stream.resource<external>{%size}
  stream.timepoint.chain_external on(#hal.device.affinity<@a>) %t2 => (%fence : !hal.fence)
  %f = stream.timepoint.export on(#hal.device.affinity<@a>) %t2 => (!hal.fence)
  util.return %f : !hal.fence
}

util.func private @commands(%0: !stream.resource<transient>, %1: !stream.resource<external>, %size: index, %a: index, %i: i32, %t: !stream.timepoint) -> !stream.timepoint {
  %done = stream.cmd.execute once on(#hal.device.affinity<@a>) await(%t) => with(%0 as %x: !stream.resource<transient>{%size}, %1 as %y: !stream.resource<external>{%size}) {
    stream.cmd.flush to(#hal.device.affinity<@a>) %x[%a for %size] : !stream.resource<transient>{%size}
    stream.cmd.invalidate from(#hal.device.affinity<@a>) %x[%a for %size] : !stream.resource<transient>{%size}
    stream.cmd.discard %x[%a for %size] : !stream.resource<transient>{%size}
    stream.cmd.fill %i, %x[%a for %size] : i32 -> !stream.resource<transient>{%size}
    stream.cmd.concurrent {
      stream.cmd.copy %x[%a], %y[%a], %size : !stream.resource<transient>{%size} -> !stream.resource<external>{%size}
      stream.cmd.serial {
        stream.cmd.dispatch @executable::@entry[%a](%i, %a : i32, index) {
          ro %x[%a for %size] : !stream.resource<transient>{%size},
          wo %y[%a for %size] : !stream.resource<external>{%size}
        }
        stream.cmd.dispatch @executable::@entry {
          rw %x[%a for %size] : !stream.resource<transient>{%size}
        }
      }
    }
  } => !stream.timepoint
  util.return %done : !stream.timepoint
}

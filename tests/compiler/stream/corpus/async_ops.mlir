util.func private @makes(%size: index, %v: i32, %t: !stream.timepoint) {
  %0 = stream.async.alloca on(#hal.device.affinity<@a>) : !stream.resource<transient>{%size}
  %1 = stream.async.constant on(#hal.device.affinity<@a>) : !stream.resource<constant>{%size} = dense<[1, 2]> : tensor<2xi32>
  %2 = stream.async.splat %v : i32 -> !stream.resource<*>{%size}
  %3 = stream.async.splat await(%t) %v : i32 -> !stream.resource<*>{%size}
  util.return
}
util.func private @moves(%0: !stream.resource<*>, %size: index, %a: index, %b: index, %v: i32) -> !stream.resource<external> {
  %1 = stream.async.clone %0 : !stream.resource<*>{%size} -> !stream.resource<*>{%size}
  %2 = stream.async.slice %1[%a to %b] : !stream.resource<*>{%size} -> !stream.resource<*>{%b}
  %3 = stream.async.fill %v, %1[%a to %b for %b] : i32 -> %1 as !stream.resource<*>{%size}
  %4 = stream.async.update %2, %3[%a to %b] : !stream.resource<*>{%b} -> %3 as !stream.resource<*>{%size}
  %5 = stream.async.copy %0[%a to %b], %4[%a to %b], %b : !stream.resource<*>{%size} -> %4 as !stream.resource<*>{%size}
  %6 = stream.async.barrier %5 : !stream.resource<*>{%size}
  %7 = stream.async.transfer %6 : !stream.resource<*>{%size} from(#hal.device.affinity<@a>) -> to(#hal.device.affinity<@b>) !stream.resource<*>{%size}
  %8 = stream.async.transfer on(#hal.device.affinity<@a>) %7 : !stream.resource<*>{%size} -> !stream.resource<*>{%size}
  %9 = stream.async.cast %8 : !stream.resource<*>{%size} -> !stream.resource<external>{%size}
  util.return %9 : !stream.resource<external>
}
util.func private @host(%0: !stream.resource<staging>, %size: index, %a: index) -> !stream.resource<staging> {
  %v = stream.async.load %0[%a] : !stream.resource<staging>{%size} -> i32
  %1 = stream.async.store %v, %0[%a] : i32 -> %0 as !stream.resource<staging>{%size}
  util.return %1 : !stream.resource<staging>
}
util.func private @regions(%0: !stream.resource<transient>, %size: index, %a: index, %b: index, %i: i32, %t: !stream.timepoint) -> (!stream.resource<transient>, !stream.resource<transient>, !stream.timepoint) {
  %r:2, %done = stream.async.execute on(#hal.device.affinity<@a>) await(%t) => with(%0 as %x: !stream.resource<transient>{%size}) -> (!stream.resource<transient>{%size}, %0{%size}) {
    %1:2 = stream.async.concurrent with(%x as %y: !stream.resource<transient>{%size}) -> (!stream.resource<transient>{%size}, %x{%size}) {
      %2 = stream.async.dispatch @executable::@entry[%a](%i, %y[%a to %b for %b]) : (i32, !stream.resource<transient>{%size}) -> !stream.resource<transient>{%size}
      %3 = stream.async.dispatch {@executable::@entry, @executable::@other}(%y[%a to %b for %b]) : (!stream.resource<transient>{%size}) -> %y{%size}
      stream.yield %2, %3 : !stream.resource<transient>{%size}, !stream.resource<transient>{%size}
    }
    stream.yield %1#0, %1#1 : !stream.resource<transient>{%size}, !stream.resource<transient>{%size}
  } => !stream.timepoint
  %none = stream.async.execute with(%0 as %x: !stream.resource<transient>{%size}) {
    stream.yield
  } => !stream.timepoint
  util.return %r#0, %r#1, %done : !stream.resource<transient>, !stream.resource<transient>, !stream.timepoint
}

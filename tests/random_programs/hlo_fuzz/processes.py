"""Evaluators in processes of their own, started again when a program ended one or took too long.

Enters: a job for `evaluate.py`. Leaves: arrays, or a text that says what went wrong.
"""

import pathlib
import pickle
import selectors
import struct
import subprocess
import sys
import tempfile
import time

PACKAGE = pathlib.Path(__file__).parent


class Evaluator:
    """One process; `run` gives a list of arrays or the text of an error."""

    def __init__(self, name, seconds=200.0):
        self.name, self.seconds = name, seconds
        self._process = None
        self._errors = None

    def run(self, text, arguments, elements, results):
        if self._process is None:
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the process)
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"{PACKAGE.name}.evaluate"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=self._errors, cwd=PACKAGE.parent,
            )  # fmt: skip
        job = pickle.dumps((self.name, text, arguments, elements, results))
        deadline = time.monotonic() + self.seconds
        try:
            self._process.stdin.write(struct.pack("<Q", len(job)) + job)
            self._process.stdin.flush()
            (size,) = struct.unpack("<Q", self._read(8, deadline))
            return pickle.loads(self._read(size, deadline))
        except (EOFError, BrokenPipeError):
            return f"the process ended with {self._stop()}"
        except TimeoutError:
            self._stop()
            return f"no answer after {self.seconds} seconds"

    def _read(self, size, deadline):
        stream = self._process.stdout
        data = b""
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            while len(data) < size:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError
                part = stream.raw.read(size - len(data)) if not stream.closed else b""
                if not part:
                    raise EOFError
                data += part
        return data

    def _stop(self):
        process, self._process = self._process, None
        process.kill()
        code = process.wait()
        process.stdin.close()
        process.stdout.close()
        self._errors.seek(0)
        tail = self._errors.read()[-1500:].decode(errors="replace")
        self._errors.close()
        return f"{code}: {tail}"

    def close(self):
        if self._process is not None:
            self._stop()

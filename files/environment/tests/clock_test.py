# SPDX-License-Identifier: GPL-3.0-or-later
"""`environment clock`, and the step of the plan, which is not allowed to set the time here: clock_test.py PROGRAM."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "environment"
TICKS, NANOSECONDS, RATE, RTC, TRUSTED = range(5)
SECOND = 10**9
# Nanoseconds that this machine may take between two readings of the same clocks, which are exact to a millionth of that.
EXACT = SECOND // 100
NO_SETTING = ("setpriv", "--bounding-set", "-sys_time", "--inh-caps", "-sys_time")


def clock(*words):
    return subprocess.run([PROGRAM, "clock", *map(str, words)], capture_output=True, text=True, check=False)


def noted(**others):
    """Return the words of now, with OTHERS in their places."""
    words = list(map(int, clock().stdout.split()))
    for name, value in others.items():
        words[globals()[name]] = value
    return words


class Clock(unittest.TestCase):
    def behind(self, words):
        done = clock(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout.split()[0])

    def test_the_time_of_day_is_what_it_is(self):
        self.assertLess(abs(self.behind(noted())), EXACT)

    def test_a_time_of_day_that_was_another_is_told_by_the_ticks(self):
        words = noted(TRUSTED=1)
        words[NANOSECONDS] += 100 * SECOND
        self.assertLess(abs(self.behind(words) - 100 * SECOND), EXACT)

    def test_ticks_that_have_passed_are_time(self):
        words = noted(TRUSTED=1)
        words[TICKS] -= 5 * words[RATE]
        self.assertLess(abs(self.behind(words) - 5 * SECOND), EXACT)

    def test_words_that_are_no_readings_are_refused(self):
        for words in (noted(RATE="x"), noted(NANOSECONDS=-1), noted(TRUSTED=2), noted(RTC=1 << 50), noted(RATE="")):
            self.assertEqual(clock(*words).returncode, 1, words)

    def test_other_numbers_of_words_are_no_command(self):
        self.assertEqual(clock(*noted()[:-1]).returncode, 2)


class Step(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        for path in ("run/kup", "sys/class/rtc/rtc0", "plan"):
            (self.root / path).mkdir(parents=True)

    def apply(self, words, machine=None):
        """Return what is noted of a step with these WORDS, where the machine's clock says MACHINE."""
        rtc, plan = self.root / "sys/class/rtc/rtc0/since_epoch", self.root / "plan/0-clock.plan"
        if machine is not None:
            rtc.write_text(f"{machine}\n")
        plan.write_text(f"kup-environment 1\nclock optional - realtime {' '.join(map(str, words))}\n")
        plan.chmod(0o600)
        command = [*NO_SETTING, PROGRAM, "apply", "--root", self.root, "--run", self.root / "run/kup", plan]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.root / "run/kup/environment.log").read_text()

    # That it may not be set comes after it is known.
    KNOWN, UNKNOWN = "Operation not permitted (optional)", "No data available (optional)"

    def test_the_ticks_tell_where_there_is_no_clock_of_the_machine(self):
        self.assertIn(self.KNOWN, self.apply(noted(RTC=-1)))

    def test_ticks_that_have_begun_anew_tell_nothing(self):
        self.assertIn(self.UNKNOWN, self.apply(noted(RTC=-1, TICKS=2**62)))

    def test_the_clock_of_the_machine_tells_where_ticks_do_not(self):
        self.assertIn(self.KNOWN, self.apply(noted(RTC=1000, TICKS=2**62), machine=1012))

    def test_a_clock_of_the_machine_that_stands_still_tells_nothing(self):
        self.assertIn(self.UNKNOWN, self.apply(noted(RTC=1000, TICKS=2**62), machine=1000))

    def test_words_that_are_no_readings_change_nothing(self):
        self.assertIn("Invalid argument (optional)", self.apply(noted(RATE="x")))


if __name__ == "__main__":
    unittest.main()

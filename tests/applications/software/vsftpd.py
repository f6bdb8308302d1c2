"""A file server with a process for each session: a download under way, on two connections"""

UNITS = ("vsftpd.service",)
PORTS = (21, 30021)
PACKAGES = ("vsftpd",)
_SIZE = 32 << 20  # bytes: more than the buffers of a connection hold
# A session has a network and pids of its own otherwise, which CRIU does not carry.
SETUP = f"""
sed -i -e '/^anonymous_enable=/d' /etc/vsftpd.conf
cat >>/etc/vsftpd.conf <<'END'
anonymous_enable=YES
pasv_min_port={PORTS[1]}
pasv_max_port={PORTS[1]}
idle_session_timeout=86400
data_connection_timeout=86400
isolate=NO
isolate_network=NO
END
mkdir -p /srv/ftp
python3 -c 'import sys; sys.stdout.buffer.write(b"".join(b"%015d\\n" % line for line in range({_SIZE} // 16)))' >/srv/ftp/lines
"""


class Client:
    def __init__(self, connect):
        self._connect, self._control = connect, connect(PORTS[0])
        self._data, self._position = None, 0
        self._expect(220)
        self._say(b"USER anonymous", 331)
        self._say(b"PASS client@lab", 230)
        self._say(b"TYPE I", 200)

    def _expect(self, code):
        line = self._control.line()
        if line[:4] != b"%d " % code:
            raise ValueError(f"{line.decode(errors='replace')}, expected {code}")

    def _say(self, command, code):
        self._control.send(command + b"\r\n")
        self._expect(code)

    def before(self):
        self._say(b"PASV", 227)
        self._data = self._connect(PORTS[1])
        self._say(b"RETR lines", 150)
        self._data.take(_SIZE // 64)

    def after(self):
        begin = _SIZE // 64 // 16
        expected = b"".join(b"%015d\n" % line for line in range(begin, _SIZE // 16))
        found = self._data.take(len(expected))
        self._expect(226)
        return [] if found == expected else ["what was downloaded is not what the file has"]

"""A servlet container: a session in memory, open connections, one with half a request, and performance data in its private /tmp"""

from tests.applications import http

UNITS = ("tomcat10.service",)
PORTS = (8083,)
PACKAGES = ("tomcat10",)
RELEASES = {"12": "", "13": ""}
FILES = {
    "/var/lib/tomcat10/webapps/ROOT/session.jsp": (
        '<% String value = request.getParameter("set"); if (value != null) session.setAttribute("value", value); %>'
        '<%= session.getId() %> <%= session.getAttribute("value") %>'
    )
}
SETUP = """
sed -i -e 's/port="8080" protocol="HTTP.1.1"/port="8083" protocol="HTTP\\/1.1" maxKeepAliveRequests="-1"/' \
    -e 's/connectionTimeout="20000"/connectionTimeout="3600000"/' /etc/tomcat10/server.xml
"""


class Client:
    """Has set a value in a session, and asks for it on two open connections."""

    def __init__(self, connect):
        self._first, self._second = connect(PORTS[0]), connect(PORTS[0])
        _status, body = http.ask(self._first, "/session.jsp?set=kept")
        self._path = f"/session.jsp;jsessionid={body.split()[0].decode()}"
        self._was = http.ask(self._second, self._path)

    def before(self):
        self._second.send(f"GET {self._path} HTTP/1.1\r\nHo".encode())

    def after(self):
        found = [http.ask(self._first, self._path)]
        self._second.send(b"st: node\r\n\r\n")
        found.append(http.answer(self._second))
        return [f"the session was answered {one!r}, before {self._was!r}" for one in found if one != self._was]

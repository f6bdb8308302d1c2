"""A service in Java with its state in memory"""

from tests.applications import http
from tests.applications.wire import values

UNITS = ("remembering-java.service",)
PORTS = (8082,)
PACKAGES = ("default-jdk-headless", "openjdk-@VERSION@-jre-headless")
RELEASES = {"12": "17", "13": "21"}
FILES = {
    "/usr/local/lib/Remembering.java": """
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;

public class Remembering {
    public static void main(String[] words) throws Exception {
        var memory = new ConcurrentHashMap<String, byte[]>();
        var server = HttpServer.create(new InetSocketAddress(8082), 64);
        server.createContext("/", exchange -> {
            var key = exchange.getRequestURI().getPath();
            if (exchange.getRequestMethod().equals("PUT")) {
                memory.put(key, exchange.getRequestBody().readAllBytes());
                exchange.sendResponseHeaders(204, -1);
            } else {
                var body = memory.getOrDefault(key, new byte[0]);
                exchange.sendResponseHeaders(memory.containsKey(key) ? 200 : 404, body.length == 0 ? -1 : body.length);
                exchange.getResponseBody().write(body);
            }
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.start();
    }
}
""",
    "/etc/systemd/system/remembering-java.service": (
        "[Service]\nUser=daemon\n"
        "ExecStart=/usr/bin/java -Xmx64m -Dsun.net.httpserver.idleInterval=3600 -Dsun.net.httpserver.maxIdleTime=3600"
        " /usr/local/lib/Remembering.java\n[Install]\nWantedBy=multi-user.target\n"
    ),
}


def Client(connect):
    return http.Remembering(connect, PORTS[0], values(b"java", 500)[1:])

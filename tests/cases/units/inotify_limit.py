"""More inotify instances than the kernel's default allows, the limit raised while the node ran"""

from service import kernel, libc

SETUP = "sysctl -qw fs.inotify.max_user_instances=1024"
MUST = {"instances": 300}


def program():
    watches = [libc.inotify_init1(0) for _number in range(300)]
    for watch in watches:
        libc.inotify_add_watch(watch, b"/etc", 0x100)
    return lambda: {
        "instances": sum(watch >= 0 for watch in watches),
        "limit": kernel("fs/inotify/max_user_instances"),
    }

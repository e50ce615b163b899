# A service manager's end of sd_notify: listen.py PATH (@NAME: an abstract one). Prints each message in one line.
import os, socket, sys

path = sys.argv[1]
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind('\0' + path[1:] if path[0] == '@' else path)
print('LISTENS', flush=True)
while True:
    text = listener.recv(65536).decode()
    if text != 'BARRIER=1':
        print(text.replace('\n', ' '), flush=True)

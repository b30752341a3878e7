// An OpenDHT bootstrap node at port 4222; runs until its standard input is closed.
#include <opendht.h>
#include <unistd.h>

int main() {
  dht::DhtRunner node;
  node.run(4222, {}, true);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  node.join();
}

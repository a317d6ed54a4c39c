// Makes fsync and fdatasync fail as a broken disk would: preloaded into the server, it reads the file that
// MEDIAGEN_TEST_FAULT names, "<text> <percent>", and fails that share of the calls on files whose path holds the text.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fails(int fd)
{
  const char *control = getenv("MEDIAGEN_TEST_FAULT");
  FILE *file = control ? fopen(control, "r") : NULL;
  if (!file) return 0;
  char text[64], link[64], path[4096];
  int percent = 0;
  int found = fscanf(file, "%63s %d", text, &percent);
  fclose(file);
  if (found != 2) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 2);
  if (length < 0) return 0;
  // So that a text may end with the path.
  path[length] = '$';
  path[length + 1] = 0;
  return strstr(path, text) && rand() % 100 < percent;
}

static int synced(const char *name, int fd)
{
  if (fails(fd)) {
    errno = EIO;
    return -1;
  }
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return real(fd);
}

int fsync(int fd) { return synced("fsync", fd); }
int fdatasync(int fd) { return synced("fdatasync", fd); }

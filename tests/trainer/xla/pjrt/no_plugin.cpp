// A shared library that is not a PJRT plugin.
extern "C" __attribute__((visibility("default"))) int no_plugin() { return 0; }

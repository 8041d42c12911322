//! Arguments, commands, rendering, error printing, exit codes.

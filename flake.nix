{
  description = "proctor: verdicts of a project's checks that are bound to the tested files";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs = { self, nixpkgs }:
    let
      manifest = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package;
      each = nixpkgs.lib.genAttrs [ "x86_64-linux" "aarch64-linux" ];
    in {
      packages = each (system: {
        default = nixpkgs.legacyPackages.${system}.rustPlatform.buildRustPackage {
          pname = "proctor";
          inherit (manifest) version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          # The tests need git, interpreters and namespaces, which a build of Nix has not.
          doCheck = false;
          meta.mainProgram = "proctor";
        };
      });
    };
}

-- A role and a schema of its own for each service; no service reads another's. A role
-- owns its schema and nothing else, and can make no further one.
DO $$
DECLARE service text;
BEGIN
  EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
  REVOKE ALL ON SCHEMA public FROM PUBLIC;
  FOREACH service IN ARRAY ARRAY['gateway','security','planner','memory','executor','research','validator','review','partners','console'] LOOP
    EXECUTE format('CREATE ROLE %I LOGIN', service);
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), service);
    EXECUTE format('CREATE SCHEMA %I AUTHORIZATION %I', service, service);
  END LOOP;
END $$;
